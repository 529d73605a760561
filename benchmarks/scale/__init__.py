"""Growing: time and memory against rows by every path, what Ray costs, what faults cost, and what follows on paper."""
