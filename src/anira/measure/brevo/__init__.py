"""What explains the depth of BREVO's answer tokens: the four stages of regression, and a contrast of two runs."""
