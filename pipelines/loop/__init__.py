"""The retraining loop: mined pairs train the encoder that mines the next ones."""
