package commerce

import "strings"

const (
	cpfLength  = 11
	cnpjLength = 14
)

// Kinds of a person's or a company's number with Receita Federal.
const (
	CPF  = "cpf"  // of a person: 11 digits
	CNPJ = "cnpj" // of a company: 12 digits or capital letters, and 2 digits
)

// NormalCPF returns the 11 digits of a CPF, and "" for what is none: its check digits are wrong,
// or all of its digits are the same.
func NormalCPF(raw string) string { return checked(raw, cpfLength, false) }

// NormalCNPJ returns the 14 characters of a CNPJ in upper case, and "" for what is none. Since July
// 2026 the first 12 may be letters too (Instrução Normativa RFB 2.229/2024): in the sum of the check
// digits a letter counts as its ASCII code less 48.
func NormalCNPJ(raw string) string { return checked(raw, cnpjLength, true) }

// NormalDocument returns a CPF or a CNPJ as it is stored, which of the two it is, and "" for what is
// neither.
func NormalDocument(raw string) (document, kind string) {
	if cpf := NormalCPF(raw); cpf != "" {
		return cpf, CPF
	}
	if cnpj := NormalCNPJ(raw); cnpj != "" {
		return cnpj, CNPJ
	}
	return "", ""
}

// ShownDocument returns a CPF or CNPJ with the signs between its groups, and another text as it is.
func ShownDocument(document string) string {
	d := document
	switch {
	case len(d) == cpfLength && NormalCPF(d) == d:
		return d[:3] + "." + d[3:6] + "." + d[6:9] + "-" + d[9:]
	case len(d) == cnpjLength && NormalCNPJ(d) == d:
		return d[:2] + "." + d[2:5] + "." + d[5:8] + "/" + d[8:12] + "-" + d[12:]
	}
	return document
}

// checked returns the characters of a number without the signs between its groups, where it has so
// many and its last two are the right check digits.
func checked(raw string, length int, letters bool) string {
	if len(raw) > 2*length {
		return ""
	}
	text := strings.ToUpper(strings.Map(func(r rune) rune {
		if strings.ContainsRune(".-/ \t", r) {
			return -1
		}
		return r
	}, raw))
	if len(text) != length || strings.Count(text, text[:1]) == length {
		return ""
	}
	for i, c := range []byte(text) {
		digit, letter := c >= '0' && c <= '9', letters && i < length-2 && c >= 'A' && c <= 'Z'
		if !digit && !letter {
			return ""
		}
	}
	for _, n := range []int{length - 2, length - 1} {
		if text[n] != checkDigit(text[:n], letters) {
			return ""
		}
	}
	return text
}

// checkDigit is the digit that follows some characters: 11 less the rest of their sum by 11, and 0
// where that is 10 or 11. The weights go up from 2 at the last one; of a CNPJ they begin anew after 9.
func checkDigit(text string, again bool) byte {
	sum, weight := 0, 2
	for i := len(text) - 1; i >= 0; i-- {
		sum += int(text[i]-'0') * weight
		if weight++; again && weight > 9 {
			weight = 2
		}
	}
	if rest := sum % 11; rest >= 2 {
		return byte('0' + 11 - rest)
	}
	return '0'
}
