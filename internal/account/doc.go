// Package account holds who may do what at a store: API keys with their scopes, people,
// their sessions and invitations; and what makes a change of theirs happen once: idempotency
// keys, and the outbox that carries it to Kafka.
//
// What belongs here: types, constants and pure functions. No I/O, no HTTP, no SQL. It imports
// commerce for error kinds and violations, and commerce imports nothing of it.
package account
