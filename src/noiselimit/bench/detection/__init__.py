"""Who finds wrong labels best: our audit and what people use today, on the same data and network."""
