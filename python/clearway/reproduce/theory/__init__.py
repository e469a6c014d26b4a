"""What theory says of congestion control."""
