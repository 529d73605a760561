"""The certificate inside other people's pipelines: one module a library, each with a `Prune`."""
