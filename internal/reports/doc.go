// Package reports has what a report is: its query, its columns, its rows with totals
// and a comparison, and how it is written as JSON and CSV.
//
// What belongs here: pure functions on values. What a report reads is in
// internal/postgres/report; what each metric means is in docs/reports.md.
package reports
