// Package erasure has the SQL of the erasure of persons: what is a person's, what goes, and what is
// known of persons who are erased. What is done when, and why, is in internal/upkeep/erasure.
package erasure
