"""Transformer models, by ONNX or by torch: tokens in, arrays out."""
