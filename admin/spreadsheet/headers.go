package spreadsheet

import (
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/fold"
)

// Fields are what a column can be read as, in the order in which pages offer them. Only name is needed.
var Fields = []string{"name", "category", "campaign", "links", "coupon", "coupon_start", "coupon_end", "var_fee", "fixed_fee",
	"monthly", "value", "frequency", "owed_from", "cost_start", "cost_end", "coupon_only", "campaign_only", "campaign_id", "email", "phone",
	"document", "pix_type", "pix_key", "handles", "notes"}

// headersOf are the headers of each field's column, as plain writes them: those that pages and files show in both languages, and
// those that shops write. The fields' own names are headers too.
var headersOf = map[string]string{
	"name": "nome, nome completo, influenciador, influenciadora, influencer, influencers, parceiro, parceira, criador, criadora, creator, " +
		"partner, full name",
	"category": "categoria, nicho, segmento, niche",
	"campaign": "campanha",
	"links":    "link, url, destino, site, link do produto",
	"coupon": "cupom, codigo, codigo do cupom, cupom de desconto, codigo de desconto, code, coupon code, discount code, " +
		"promo code",
	"coupon_start": "inicio do cupom, cupom de, cupom desde, coupon from, coupon start",
	"coupon_end":   "fim do cupom, cupom ate, validade do cupom, validade, valido ate, coupon until, coupon end",
	"var_fee": "comissao, comissao das vendas, comissao por venda, comissao sobre vendas, percentual, percentual das vendas, porcentagem, " +
		"porcentagem das vendas, percentual de comissao, porcentagem de comissao, taxa de comissao, commission, percent, percent of sales, " +
		"commission rate",
	"fixed_fee": "valor por venda, valor por pedido, fixo por venda, fixo por pedido, comissao por pedido, " +
		"taxa fixa por pedido, amount per order",
	"monthly": "valor fixo por mes, valor fixo mensal, valor por mes, valor mensal, fixo mensal, fixo por mes, cache mensal, " +
		"cache por mes, mensalidade, pagamento mensal, salario, fee mensal, fixed amount per month, monthly fee, monthly amount, " +
		"amount per month, retainer",
	"value": "valor fixo, fixo, cache, fixed amount",
	"frequency": "frequencia, com que frequencia, com que frequencia se paga o valor fixo, frequencia do valor fixo, " +
		"frequencia de pagamento, frequencia do cache, periodicidade, how often, how often the fixed amount",
	"owed_from":     "devido desde, pagar desde, owed since",
	"cost_start":    "inicio, inicio do acordo, inicio da comissao, acordo de, acordo desde, start, agreement from",
	"cost_end":      "fim, fim do acordo, fim da comissao, acordo ate, end, agreement until",
	"coupon_only":   "so cupom, so com cupom, somente cupom, acordo so para vendas com cupom, agreement for coupon sales only",
	"campaign_only": "so na campanha, acordo so na campanha, agreement for the campaign only",
	"campaign_id":   "id da campanha, id of the campaign",
	"email":         "e mail, mail, e mail de contato",
	"phone":         "telefone, celular, whatsapp, fone, tel, telefone celular, mobile, telephone",
	"document":      "documento, cpf, cnpj, cpf cnpj, cpf ou cnpj, cpf or cnpj",
	"pix_type":      "tipo de chave pix, tipo da chave pix, tipo da chave, tipo de chave, tipo pix, type of the pix key, pix key type",
	"pix_key":       "pix, chave pix, chave",
	"handles":       "instagram, rede social, redes sociais, perfil, perfis, arroba, social networks, social network, handle",
	"notes":         "observacoes, observacao, obs, notas, comentarios, note, comments",
}

// headers are the fields by the headers of headersOf.
var headers = func() map[string]string {
	fields := map[string]string{}
	for field, list := range headersOf {
		for header := range strings.SplitSeq(list, ", ") {
			fields[header] = field
		}
	}
	return fields
}()

// units are words of a header that say how its column's numbers are written, and those around them.
var units = []string{"r$", "brl", "reais", "em", "in"}

// plain is a header without case, accents, signs and units, for a look in headers.
func plain(header string) string {
	words := strings.FieldsFunc(fold.Name(header), func(r rune) bool { return strings.ContainsRune(" _-–—./:;,()[]*?!#%", r) })
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(units, word) })
	return strings.Join(words, " ")
}

func fieldOf(header string) string {
	name := plain(header)
	if field := strings.ReplaceAll(name, " ", "_"); slices.Contains(Fields, field) {
		return field
	}
	return headers[name]
}

// figures are the columns of the influencers' file that nobody means to import: what they sold, and their ids.
var figures = []string{"orders 30 days", "sales 30 days", "commission 30 days", "currency", "influencer id",
	"pedidos 30 dias", "vendas 30 dias", "comissao 30 dias", "moeda", "id do influenciador"}

// Unread are the headers of the columns that are not read and have something: first those with numbers, which may be money,
// then the others. Figures of the influencers' own file are none of them.
func (t *Table) Unread() (numbers, others []string) {
	for i, header := range t.Headers {
		cells := t.Examples(i, len(t.rows))
		switch {
		case t.Columns[i] != "" || len(cells) == 0 || slices.Contains(figures, plain(header)):
		case slices.ContainsFunc(cells, isNumber):
			numbers = append(numbers, header)
		default:
			others = append(others, header)
		}
	}
	return numbers, others
}

// isNumber reports whether a cell has a number, with or without a unit: R$ 1.500,00 and 12,5%.
func isNumber(cell string) bool {
	rest := strings.Trim(strings.TrimPrefix(fold.Name(cell), "r$"), " %")
	return strings.ContainsAny(rest, "0123456789") && strings.Trim(rest, "0123456789., ") == ""
}
