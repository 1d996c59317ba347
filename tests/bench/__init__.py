"""What validation costs, measured on the running local stack; ratios of one run, because machines differ."""
