"""What is learned on rows left out: powers, dependence between columns, shares of an average."""
