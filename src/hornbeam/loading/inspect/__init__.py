"""What tables and facts contain, and which columns look suspicious."""
