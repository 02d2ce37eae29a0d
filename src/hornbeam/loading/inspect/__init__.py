"""What tables and facts hold, and which columns look suspicious."""
