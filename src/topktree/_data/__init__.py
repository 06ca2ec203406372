"""Tables to features, features to Boolean columns, columns to packed rows."""
