package scrub

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/identity"
)

const anID = "018f3f5e-7b2a-7c3d-8e4f-0123456789ab"

func TestScrubRemovesEmailsAndPhones(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Text(text); got != want {
			t.Errorf("Text(%q)\n got %q\nwant %q", text, got, want)
		}
	}
	f("https://loja.example.com/?email=ana@example.com&x=1", "https://loja.example.com/?email=(email)&x=1")
	f("https://loja.example.com/?email=ana%40example.com&x=1", "https://loja.example.com/?email=(email)&x=1")
	f("https://loja.example.com/?to=%2Fp%3Femail%3Dana%2540example.com", "https://loja.example.com/?to=%2Fp%3Femail%3D(email)")
	f("https://loja.example.com/u/ana.prado+1@example.com.br/x", "https://loja.example.com/u/(email)/x")
	f("josé@exemplo.com.br wrote", "(email) wrote")
	f("https://x.com/?e=jos%C3%A9%40exemplo.com.br", "https://x.com/?e=(email)")
	f("mailto:Ana@Example.com?subject=Oi", "mailto:(email)?subject=Oi")
	f("Bem-vinda, ana@example.com!", "Bem-vinda, (email)!")
	f("https://x.com/?phone=11987654321&y=2", "https://x.com/?phone=(phone)&y=2")
	f("https://x.com/?user_phone=11987654321", "https://x.com/?user_phone=(phone)")
	f("https://x.com/?telefone=(11)+98765-4321#top", "https://x.com/?telefone=(phone)#top")
	f("https://x.com/?t=%2B5511987654321", "https://x.com/?t=(phone)")
	f("https://x.com/?q=%2811%29%2098765-4321", "https://x.com/?q=(phone)")
	f("+55 (11) 98765-4321", "(phone)")
	f("ligue 11 98765-4321 hoje", "ligue (phone) hoje")
	f("ligue 11 98765 4321 hoje", "ligue (phone) hoje")
	f("https://x.com/?q=11+98765+4321&r=11%252098765%25204321", "https://x.com/?q=(phone)&r=(phone)")
	f("call (415) 555-2671 now", "call (phone) now")
	f("https://x.com/?q=%28415%29%20555-2671", "https://x.com/?q=(phone)")
	f("Wa.me/5511987654321 TEL:11987654321", "Wa.me/(phone) TEL:(phone)")
	f("https://wa.me/5511987654321?text=oi", "https://wa.me/(phone)?text=oi")
	f("tel:+5511987654321", "tel:(phone)")
	f("sms:5511987654321", "sms:(phone)")
	f("https://l.example.com/?u=https%3A%2F%2Fwa.me%2F5511987654321%3Ftext%3Doi",
		"https://l.example.com/?u=https%3A%2F%2Fwa.me%2F(phone)%3Ftext%3Doi")
	f("https://x.com/?phones=11987654321", "https://x.com/?phones=(phone)")
	f("https://x.com/?phoneNumber1=11987654321&y=2", "https://x.com/?phoneNumber1=(phone)&y=2")
	f("https://x.com/?contactNumber=11987654321", "https://x.com/?contactNumber=(phone)")
	f("https://x.com/?customer%5Bphone%5D=11987654321", "https://x.com/?customer%5Bphone%5D=(phone)")
	f("https://x.com/?to=%2Fp%3Fphones%3D11987654321%26y%3D2", "https://x.com/?to=%2Fp%3Fphones%3D(phone)%26y%3D2")
	f("Telefone: 11987654321, à tarde", "Telefone: (phone), à tarde")
	f("whatsapp 11 98765 4321", "whatsapp (phone)")
	f("ana＠example.com", "(email)")
	f("ana＠example．com wrote", "(email) wrote")
	f("ana﹫example。com", "(email)")
	f("ana！b～c＠example.com", "(email)")
	f("＋５５１１９８７６５４３２１", "(phone)")
	f("@ana ana@example.com", "@ana (email)")
	f("%61na%40example.com", "(email)")
	f("https://x.com/?e=%3Dana%40example.com", "https://x.com/?e=%3D(email)")
	f("a%40b%3Dana%40example.com", "a%40b%3D(email)")
	f("+12345678", "(phone)")
	f("+5511987654321 or +5521987654321", "(phone) or (phone)")
	f("https://x.com/?phone=11987654321&tel=11987654322", "https://x.com/?phone=(phone)&tel=(phone)")
	f("https://x.com/?e=ana%EF%BC%A0example.com", "https://x.com/?e=(email)")
	f("https://x.com/?to=%2Fp%3Fe%3Dana%25ef%25bc%25a0example.com", "https://x.com/?to=%2Fp%3Fe%3D(email)")
	f("https://x.com/?e=%61%6E%61%40%65%78%61%6d%70%6c%65%2E%63%6F%6D", "https://x.com/?e=(email)")
	f("https://x.com/?e=ana%2540example%252Ecom", "https://x.com/?e=(email)")
	f("https://x.com/?phone=%31%31987654321", "https://x.com/?phone=(phone)")
	f("https://x.com/?t=%EF%BC%8B%EF%BC%95%EF%BC%951198765432%EF%BC%91", "https://x.com/?t=(phone)")
	f("https://x.com/?t=%25EF%25BC%258B55119876543%25EF%25BC%2591", "https://x.com/?t=(phone)")
	f("https://x.com/?customer_id=42&userId=c-42&cart_token=9f3b&x=1", "https://x.com/?customer_id=(id)&userId=(id)&cart_token=(id)&x=1")
	f("https://x.com/?orderFormId=9f3b&checkout_token=9f3b&visitorId=9f3b&trb_id=9f3b&cart=2",
		"https://x.com/?orderFormId=(id)&checkout_token=(id)&visitorId=(id)&trb_id=(id)&cart=2")
	f("https://x.com/finalizar/order-received/42/?key=wc_order_a1B2c3&x=1", "https://x.com/finalizar/order-received/42/?key=(id)&x=1")
	f("https://x.com/checkouts/cn/Z2NwLXVzLWVhc3QxOjAxSlM/thank-you?x=1", "https://x.com/checkouts/cn/(id)/thank-you?x=1")
	f("/77/Checkouts/9f3b5d2e4c1a4e9f", "/77/Checkouts/(id)")
	f("https://x.com/cart/c/hWN4zRj9b1xQe7T2?key=1", "https://x.com/cart/c/(id)?key=1")
	f("see https://x.com/?to=%2Fcheckouts%2Fcn%2FZ2NwLXVzLWVhc3QxOjAxSlM%3Fa", "see https://x.com/?to=%2Fcheckouts%2Fcn%2F(id)%3Fa")
	f("https://x.com/?to=%2Fp%3Fuser%255Bid%255D%3Dc-42%26y%3D2", "https://x.com/?to=%2Fp%3Fuser%255Bid%255D%3D(id)%26y%3D2")
}

func TestACutAddressGoes(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Cut(text); got != want {
			t.Errorf("Cut(%q)\n got %q\nwant %q", text, got, want)
		}
	}
	f("https://x.com/?email=ana@exam", "https://x.com/?email=(email)")
	f("https://x.com/?email=ana%40", "https://x.com/?email=(email)")
	f("https://x.com/?u=%2Fp%3Femail%3Dana%2540example.c", "https://x.com/?u=%2Fp%3Femail%3D(email)")
	f("https://x.com/?e=ana%40ex%", "https://x.com/?e=(email)")
	f("ana@example.com e bia@exa", "(email) e (email)")
	f("ａｎａ＠ｅｘ", "(email)")
	for _, stays := range []string{"", "ana@exam wrote", "https://x.com/?u=ana@exam&y=2", "por @ana", "https://medium.com/@ana"} {
		f(stays, stays)
	}
}

func TestScrubStrict(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Strict(text); got != want {
			t.Errorf("Strict(%q)\n got %q\nwant %q", text, got, want)
		}
	}
	f("5511987654321", "(phone)")
	f("pt_5511987654321", "pt_(phone)")
	f("11 98765 4321", "(phone)")
	f("1198765432 or 11987654321 or 551198765432100", "(phone) or (phone) or (phone)")
	f("2763704883000", "(phone)") // no time in milliseconds
	f("763704883000", "(phone)")
	f("17637048830 00", "(phone)")
	f("５５１１９８７６５４３２１", "(phone)")
	f("MyApp/1.0 (5511987654321)", "MyApp/1.0 ((phone))")
	f("app ana%40example.com", "app (email)")
	for _, stays := range []string{
		"", "pt-BR", "1920x1080", anID, "made by " + anID, "1763704883000", "2026-11-21 06:00:00", "2026-11-21T06:00:00.000Z", "20261121",
		"44123456789012345678",
		"Mozilla/5.0 (Linux; Android 14; SM-A546E) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.6099.230 Mobile Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_1_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/21B101 Instagram " +
			"312.0.0.27.109 (iPhone14,5; iOS 17_1_2; pt_BR; pt; scale=3.00; 1170x2532; 548339486)",
	} {
		f(stays, stays)
	}
}

func TestNamesPhone(t *testing.T) {
	for _, name := range []string{
		"phone", "phones", "Phone", "PHONE", "phone1", "phoneNumber1", "phone_number", "userPhone", "customerphone", "customer[phone]",
		"phone[]", "billing.phone",
		"telephone", "telefone", "telefones", "fone", "celular", "celularCliente", "tel", "user_tel", "cel", "mobile", "mobileNumber",
		"usermobile", "msisdn",
		"ZAP", "userZap", "whatsapp", "whatsApp", "whats_app", "whatsapp_number", "wpp", "contactNumber", "contact_no", "contactnumber",
		"contato", "numero_contato", "numeroDeContato",
	} {
		if !NamesPhone(name) {
			t.Errorf("%s names no phone", name)
		}
	}
	for _, name := range []string{
		"", "_", "id", "orderId", "hotel", "hotelId", "telemetry", "cellar", "iphone", "iPhone", "headphones", "smartphoneSku", "phoneId",
		"phone_verified_at", "phone_case_sku",
		"mobileAppVersion", "automobile", "contactId", "content", "context", "number", "numero", "microfone",
	} {
		if NamesPhone(name) {
			t.Errorf("%s names a phone", name)
		}
	}
}

func TestScrubLeavesTheRest(t *testing.T) {
	for _, text := range []string{
		"",
		"https://loja.example.com/produto/7654321098765?variant=44123456789012",
		"https://loja.example.com/?utm_source=influencer&utm_campaign=21987654321&gclid=EAIaIQobChMI40",
		"https://loja.example.com/?fbclid=IwAR0a1b2c3d4e5f6g7h8i9j0&_t=1763704883000",
		"https://medium.com/@ana/post-4012",
		"https://cdn.example.com/logo@2x.png",
		"https://x.com/npm/foo@1.2.3/",
		"https://x.com/?trb_click=Ab12Cd.018f3f5e-7b2a-7c3d-8e4f-0123456789ab",
		"2026-11-21T06:00:00.000Z",
		"Preço R$ 1.299,90",
		"018f3f5e-7b2a-7c3d-8e4f-0123456789ab",
		"Black Friday 2026-11-27",
		"Promo 10+2026-11-21",
		"https://loja.example.com/?d=from+2026-11-21+10:00",
		"https://loja.example.com/?d=%2B20261121",
		"entre +21-11-2026 e depois",
		"Top 10 2025-2026",
		"Ana (11) 2025-2026",
		"Kit 11 12345 6789",
		"SKU 12-90001-2345, pedido 700 900 1234, (100) 200-3000",
		"iPhone 44123456789012",
		"https://loja.example.com/?mobile=true&hotel=12345678&phone=",
		"https://loja.example.com/?phone_verified_at=2026-11-21&phoneSince=2026-11-21",
		"１２３ Ａｎａ",
		"https://loja.example.com/?q=%E3%82%A0%A0",
		"https://loja.example.com/?q=%61%2D%7E&d=100%25&x=%EF%BC%81%EF%BC",
		"https://x.com/checkout/thank-you-for-your-order?order=9f3b5d2e4c1a4e9f", "/checkout/p/2?/9f3b5d2e4c1a4e9f",
		"/p/9f3b5d2e4c1a4e9f", "the key wc_order_",
		"https://x.com/carts/9f3b5d2e4c1a4e9f", "https://x.com/cart/9f3b5d2e4c1a4e9",
		"https://loja.example.com/?user_type=new&item_id=42&cart=2&customer_id=&utm_id=42",
	} {
		if got := Text(text); got != text {
			t.Errorf("Text(%q) = %q", text, got)
		}
	}
}

func TestScrubJSON(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := JSON(text); got != want {
			t.Errorf("JSON(%s)\n got %s\nwant %s", text, got, want)
		}
	}
	f(`{"items":[{"item_id":"44123456789012","item_quantity":1}]}`, `{"items":[{"item_id":"44123456789012","item_quantity":1}]}`)
	f(`{"note":"write to ana@example.com"}`, `{"note":"write to (email)"}`)
	f(`{"note":"ana\u0040example.com"}`, `{"note":"(email)"}`)
	f(`{"note":"\u0061na@example.com", "n": 1.50}`, `{"note":"(email)", "n": 1.50}`)
	f(`{"phone":5511987654321,"id":5511987654321}`, `{"phone":"(phone)","id":5511987654321}`)
	f(`{"customer_phone" : "11987654321"}`, `{"customer_phone" : "(phone)"}`)
	f(`{"phones":["x"],"phone":["11987654321"],"id":"11987654321"}`, `{"phones":["x"],"phone":["(phone)"],"id":"11987654321"}`)
	f(`{"ana@example.com":true}`, `{"(email)":true}`)
	f(`{"phones":["11987654321","11987654322"],"id":"11987654321"}`, `{"phones":["(phone)","(phone)"],"id":"11987654321"}`)
	f(`{"phoneNumber1":11987654321,"contactNumber":"11987654321"}`, `{"phoneNumber1":"(phone)","contactNumber":"(phone)"}`)
	f(`{"phone":{"country":55,"number":"11987654321","id":"44123456789"},"id":"11987654321"}`,
		`{"phone":{"country":55,"number":"(phone)","id":"44123456789"},"id":"11987654321"}`)
	f(`{"phones":[{"n":["11987654321"]}],"n":["11987654321"]}`, `{"phones":[{"n":["(phone)"]}],"n":["11987654321"]}`)
	f(`{"phone":{"a":{"b":1},"number":"11987654321"},"number":"11987654321"}`,
		`{"phone":{"a":{"b":1},"number":"(phone)"},"number":"11987654321"}`)
	f(`{"phone":{"1":"11987654321"}}`, `{"phone":{"1":"(phone)"}}`)
	f(`{"phone":[1,5500987654321],"tel":"99999999","cel":"00000000","fax":"1234567"}`,
		`{"phone":[1,"(phone)"],"tel":"(phone)","cel":"(phone)","fax":"1234567"}`)
	f(`{"phone":"１１９８７６５４３２１"}`, `{"phone":"(phone)"}`)
	f(`{"phone":"2026-11-21T06:00:00Z","phoneVerifiedAt":1763704883000}`, `{"phone":"2026-11-21T06:00:00Z","phoneVerifiedAt":1763704883000}`)
	f(`{"note":"ana＠example.com"}`, `{"note":"(email)"}`)
	f(`{"note":"ana\uff20example.com"}`, `{"note":"(email)"}`)
	f(`{"form":"{\"phones\":[\"11987654321\"],\"id\":11987654321}"}`, `{"form":"{\"phones\":[\"(phone)\"],\"id\":11987654321}"}`)
	f(`{"form":"{broken ana@example.com"}`, `{"form":"{broken (email)"}`)
	f(`{"broken":"ana@example.com"`, ``)
	f(`{"phone":null,"id":12345678901}`, `{"phone":null,"id":12345678901}`)
	f(`{"customer_id":"c-42","item_id":"p-1","user":{"id":42,"plan":"gold","team":{"id":7}},"id":"9"}`,
		`{"customer_id":"(id)","item_id":"p-1","user":{"id":"(id)","plan":"gold","team":{"id":7}},"id":"9"}`)
	f(`{"customerIds":["c-42",{"x":"c-43"}],"cart":{"token":"9f3b","total":1},"cartToken":"9f3b","cpf":"123.456.789-09","n":1}`,
		`{"customerIds":["(id)",{"x":"(id)"}],"cart":{"token":"(id)","total":1},"cartToken":"(id)","cpf":"(id)","n":1}`)
	f(`{"customer":{"address":{"city":"x"},"id":"c-42"},"customerType":"new","customer_id":null,"user_id":"","id":"9"}`,
		`{"customer":{"address":{"city":"x"},"id":"(id)"},"customerType":"new","customer_id":null,"user_id":"","id":"9"}`)
	f(`{"user_id":"ana@example.com","customer_id":"(redacted)"}`, `{"user_id":"(id)","customer_id":"(redacted)"}`)
	f(`{"customerIds":["a"],"n":"b"}`, `{"customerIds":["(id)"],"n":"b"}`)
	f(`{"customerIds":[{"x":"a"},[],"b"],"n":"c"}`, `{"customerIds":[{"x":"(id)"},[],"(id)"],"n":"c"}`)
	f(`{"users":[{"id":"7"}],"user":["a"],"iduser":"1"}`, `{"users":[{"id":"7"}],"user":["a"],"iduser":"1"}`)
}

func TestNamesOfIDs(t *testing.T) {
	for _, name := range []string{"customerId", "customer_id", "CUSTOMER_ID", "customerid", "customer[id]", "user.id", "billing_customer_id",
		"userIds", "clienteId", "client-id", "cart_token", "cartToken", "cartId", "checkoutToken", "checkout.id", "orderFormId", "visitor_id",
		"visitorId", "trb_id", "cpf", "customerCPF"} {
		if !namesID(name) {
			t.Errorf("%s names no id", name)
		}
		if !mentionsID(name) {
			t.Errorf("%s is not looked at", name)
		}
	}
	for _, name := range []string{"", "id", "itemId", "item_id", "orderId", "userType", "user", "customer", "cart", "cartTotal", "tokenId",
		"utm_id", "clientele", "trb_click"} {
		if namesID(name) {
			t.Errorf("%s names an id", name)
		}
	}
}

func TestOwnersOfIDs(t *testing.T) {
	for name, want := range map[string]bool{"customer": true, "billing_customer": true, "cart": true, "": false, "_": false,
		"customers": false, "item": false} {
		if got := namesOwner(name); got != want {
			t.Errorf("namesOwner(%q) = %v", name, got)
		}
	}
	for value, want := range map[string]bool{
		"42": true, strings.Repeat("x", identity.MaxID): true, strings.Repeat("0", identity.MaxID+1): true,
		strings.Repeat("0", identity.MaxID): false, "": false, "null": false,
		"(id)": false, "(id": true, "id)": true,
	} {
		if got := isIDValue(value); got != want {
			t.Errorf("isIDValue(%.20q) = %v", value, got)
		}
	}
}

func TestScrubJSONStrict(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := JSONStrict(text); got != want {
			t.Errorf("JSONStrict(%s)\n got %s\nwant %s", text, got, want)
		}
	}
	f(`{"timestamp":"11987654321","n":5511987654321,"at":1763704883000,"m":-12.5,"id":"`+anID+`"}`,
		`{"timestamp":"(phone)","n":"(phone)","at":1763704883000,"m":-12.5,"id":"`+anID+`"}`)
	f(`["r1","{\"a\":\"11987654321\"}"]`, `["r1","{\"a\":\"(phone)\"}"]`)
}

func TestJSONInsideJSONIsReadFourLevelsDeep(t *testing.T) {
	text := func(levels int, number string) string {
		text := `{"phone":"` + number + `"}`
		for range levels {
			outer, err := json.Marshal(map[string]string{"a": text})
			if err != nil {
				t.Fatal(err)
			}
			text = string(outer)
		}
		return text
	}
	for levels, want := range []string{"(phone)", "(phone)", "(phone)", "(phone)", "(phone)", "11987654321", "11987654321"} {
		if got, want := JSON(text(levels, "11987654321")), text(levels, want); got != want {
			t.Errorf("%d levels:\n got %s\nwant %s", levels, got, want)
		}
	}
}

func FuzzScrubJSONStaysValid(f *testing.F) {
	f.Add(`{"a":"\\ana\u0040example.com","phone":12345678901,"b":[1,"+5511987654321"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		if got := JSON(text); !json.Valid([]byte(got)) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func BenchmarkScrubOrdinaryURL(b *testing.B) {
	text := "https://loja.example.com/produto/camiseta?utm_source=influencer&utm_medium=link&utm_campaign=Ana&trb_click=Ab12Cd." +
		"018f3f5e-7b2a-7c3d-8e4f-0123a56789ab"
	b.ReportAllocs()
	for b.Loop() {
		Text(text)
	}
}

func BenchmarkScrubURLWithAnEmail(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Text("https://loja.example.com/conta?email=ana%40example.com&order=1")
	}
}
