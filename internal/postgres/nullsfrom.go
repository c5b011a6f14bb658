package postgres

// NullsFrom is the SQL of the first day whose null journeys may be counted: on the days before,
// events that they read may be removed by age. It needs the argument company_id.
const NullsFrom = `coalesce((select nulls_from from retention where company_id = @company_id), '-infinity')`
