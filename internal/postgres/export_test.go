package postgres

// MigrateFiles is MigrateSchema, or with "" Migrate, with other migrations.
var MigrateFiles = migrate

// LockTimeout is how long the n-th try of a migration waits for a lock.
var LockTimeout = timeoutOf

// LockTries is how often a migration is tried.
const LockTries = lockTries
