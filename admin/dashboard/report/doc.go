// Package report is the pages of reports: the overview, products, the paths of buyers,
// delivery, signs of abuse, and the audit log.
//
// What belongs here: what is counted over some days, as tables, charts and files. The
// figures are internal/reports' and internal/fraud'; nothing is computed here but the
// drawing.
package report
