// Package moves has the migrations that statements of SQL cannot do. Each moves the rows
// of tables into tables of another form, table by table, and of events month by month.
// What is done stays done where one is stopped, and the next run goes on. A service of
// an older version must not run meanwhile.
//
// The files of SQL beside it define the tables, of both ways. What may enter: moves of
// rows, as other versions wrote them. They are history and do not change.
package moves
