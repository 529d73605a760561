"""What the paper gets wrong, each as an experiment whose truth is known."""
