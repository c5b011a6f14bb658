package report

import "time"

// SetMostAge sets how old a standby may be that reports are read from.
func (s *Standby) SetMostAge(most time.Duration) { s.mostAge = most }

// StateOfStatements is for a test of how PostgreSQL runs it.
var StateOfStatements = stateOfStatements
