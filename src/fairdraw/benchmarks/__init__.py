"""What a draw costs beside one read of its row and beside other samplers, measured in the same run."""
