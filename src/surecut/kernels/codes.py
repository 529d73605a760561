"""Small numbers that the kernels and the code above them share; importing them compiles nothing."""

# rules
SOFTMAX, SOFTMAX_FITTED, SCORE, GAP, ZSCORE, RANK, MASS = range(7)

# measures
RR, NDCG, RECALL, SUCCESS, PRECISION, AP = range(6)

# tests
HEDGE, WSR, CRITICAL_SUM, CLT = range(4)
HEDGE_CAP = 0.95  # c: the largest share of the wealth that one loss may take in a hedge
