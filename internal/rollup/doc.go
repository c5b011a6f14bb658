// Package rollup computes what reports count of an order: rows by day that are summed
// over all orders, so that no report reads orders.
//
// What belongs here: pure functions. The tables sale_day, credit_day, product_day and
// path_day hold the sums; internal/postgres/factstore adds to them what changes, in the
// transaction in which the order changes. Steps are what nonconverting_day holds of a day's
// non-converting paths, which the processor counts once the day is over.
package rollup
