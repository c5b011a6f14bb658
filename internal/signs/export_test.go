package signs

// DayNumber returns the days from 1970 to a day.
var DayNumber = dayNumber
