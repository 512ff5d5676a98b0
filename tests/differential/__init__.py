"""Random trees, analysed and then run: what is said of each is what Python does, wherever something is said."""
