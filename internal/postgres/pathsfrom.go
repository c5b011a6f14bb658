package postgres

// PathsFrom is the SQL of the first day whose non-converting paths may be counted: on the days before,
// events that they read may be removed by age. It needs the argument company_id.
const PathsFrom = `coalesce((select nonconverting_from from retention where company_id = @company_id), '-infinity')`
