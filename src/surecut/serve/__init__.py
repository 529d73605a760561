"""The certificate as a service: lists in, survivors out, over HTTP."""
