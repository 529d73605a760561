"""The two-stage system itself: collections, retrievers, rerankers, and the score table they fill."""
