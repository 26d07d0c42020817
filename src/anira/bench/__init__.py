"""What `anira bench` measures, and the plain generators that the fast ones are measured against."""
