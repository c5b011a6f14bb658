// Package pathfile reads the paths of journeys, and what came of them, from a CSV
// file as users of attribution libraries have it (docs/models.md, "A file of
// paths").
//
// What may enter: the format of that file, its errors and its bounds.
package pathfile
