"""Text in, vectors out: segmentation, SentencePiece, models, objectives, training and inference."""
