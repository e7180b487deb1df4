"""Charts, pictures and tables as text: SVG, PNG and HTML without further libraries."""
