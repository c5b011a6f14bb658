// Package upkeep has the SQL of the rooms of internal/upkeep, a type for each: Books, Delivery,
// Erasure, NonConvertingPaths, Retention, Statements.
//
// It holds statements of SQL only, each of one company's rows. What is done when, and why, is in
// internal/upkeep.
package upkeep
