package fraud

// DayNumber returns the days from 1970 to a day.
var DayNumber = dayNumber
