import wrong
