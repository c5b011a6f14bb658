// Package models divides conversions and money among the touches and channels
// that led to them (docs/models.md): the six models of single journeys, which are
// computed with every order, and Markov and Shapley over the paths of many.
//
// Everything here is a pure function: no I/O, no clock, no randomness, no
// goroutine. There is no float64: weights are whole numbers, and every machine
// computes the same.
package models
