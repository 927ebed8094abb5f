"""checkpoints/storage/migrations/versions"""
