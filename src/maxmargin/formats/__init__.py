"""Readers and writers of file formats, each with errors that name the file and the line."""
