"""The paper's tables and figures again: on simulated systems tuned to its rows, and on the real tables that ship."""
