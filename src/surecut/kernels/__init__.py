"""The compiled loops: plain arrays in, plain arrays out, nothing that reads like mathematics."""
