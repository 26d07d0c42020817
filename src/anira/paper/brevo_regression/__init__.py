"""Which features of graph and search explain the depth of BREVO's answer tokens?"""
