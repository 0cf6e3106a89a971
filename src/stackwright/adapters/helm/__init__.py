"""Helm, and the records that it keeps."""
