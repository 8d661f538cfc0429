"""What a mine will cost before it is run: a short calibration on this machine, and a model of every stage."""
