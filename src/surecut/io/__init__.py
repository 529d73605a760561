"""Files in and out: TREC runs and qrels, score tables."""
