import type { TagTarget } from '../../../../src/site/proxy/inject/head-inspector.js'

export const SRC = '/_readership/script-0a1b2c3d.js?site=2'
export const TAG = `<script defer src="${SRC}"></script>`
export const TARGET: TagTarget = { src: SRC, host: 'site.example', scheme: 'https', policies: [] }

/** [the page with `¦` at the place of the tag, or without `¦` if it stays as it is; why; differences of the target] */
type PageRow = [page: string, why: string, target?: Partial<TagTarget>]

const D = '<!doctype html>'
const CLOSE = '</head><body>hello</body></html>'

const HTML: PageRow[] = [
  [`${D}<html><head><title>x</title>¦${CLOSE}`, 'a typical page'],
  [`${D}\n<html lang=de>\n<head>\n<meta charset=utf-8>\n¦</head>\n<body></body>\n</html>\n`, 'space around'],
  [`<!DOCTYPE HTML><HTML><HEAD><TITLE>x</TITLE>¦</HEAD><BODY>`, 'capitals'],
  [`<html><head>¦${CLOSE}`, 'no doctype, an empty head'],
  [`<head>¦${CLOSE}`, 'a head is enough for a document'],
  [`${D}<html><head>¦</head ><body>`, 'a space in the end tag'],
  [`${D}<html><head>¦</head\n foo="<x>"><body>`, 'attributes in the end tag'],
  [`${D}<html><head data-x="a>b" title='</head>'>¦${CLOSE}`, 'the end in an attribute of the head'],
  [`${D}<meta content="</head>"><link title='</head>'>¦${CLOSE}`, 'in attributes'],
  [`${D}<meta content=</head>¦${CLOSE}`, 'in an attribute without quotes, up to its own >'],
  [`${D}<meta a="x"b='</head>'/>¦${CLOSE}`, 'no space between attributes'],
  [`${D}<meta a = "</head>" >¦${CLOSE}`, 'space around ='],
  [`${D}<meta a=b"c>¦</head>"><p>`, 'a quote within an unquoted value opens nothing'],
  [`${D}<meta "</head>¦"><p>`, 'a quote where a name begins is part of the name: its > ends the tag, text follows'],
  [`${D}<head><!-- </head> -->¦${CLOSE}`, 'in a comment'],
  [`${D}<head><!-- <!-- </head> -->¦${CLOSE}`, 'comments do not nest'],
  [`${D}<head><!-->¦</head> -->`, 'a comment that ends where it begins'],
  [`${D}<head><!--->¦</head> -->`, 'and one dash later'],
  [`${D}<head><!----!>¦</head>-->`, 'a comment that ends with a mark'],
  [`${D}<head><!--!></head>-->¦${CLOSE}`, 'a mark where it begins ends nothing'],
  [`${D}<head><!-- -- > </head> -->¦${CLOSE}`, 'dashes with a space'],
  [`${D}<head><!--- </head> --->¦${CLOSE}`, 'three dashes'],
  [`${D}<!--[if lt IE 9]><script src=x></script></head><![endif]-->¦${CLOSE}`, 'a conditional comment'],
  [`${D}<head><![if !IE]><link><![endif]>¦${CLOSE}`, 'one that is revealed'],
  [`${D}<head><![CDATA[</head> ¦]]></head>`, 'in HTML a bogus comment, up to its first >'],
  [`${D}<head><?php echo "x" ?>¦${CLOSE}`, 'a processing instruction is a bogus comment'],
  [`${D}<head></ head>¦${CLOSE}`, 'an end tag without a name is a bogus comment'],
  [`${D}<head></>¦${CLOSE}`, 'and one without anything is nothing'],
  [`${D}<head></p></title>¦${CLOSE}`, 'end tags of others'],
  [`${D}<head><script>var a = '</head>'</script>¦${CLOSE}`, 'in a script'],
  [`${D}<head><script>"</scriptx></head>"</script >¦${CLOSE}`, 'a longer name ends no script'],
  [`${D}<head><SCRIPT>'</head>'</Script\n>¦${CLOSE}`, 'a script in capitals'],
  [`${D}<head><script><!-- <script> </script> </head> --></script>¦${CLOSE}`, 'a script in a comment in a script'],
  [`${D}<head><script><!-- </script>¦</head> -->`, 'a comment alone hides no end'],
  [`${D}<head><script><!--> <script> </script>¦</head>`, 'the comment ends where it begins, so nothing is hidden'],
  [`${D}<head><script><!-- <script --> </script>¦</head>`, 'the script in it has no end of its name but is over'],
  [`${D}<head><script><!-- <script></script> <script> --> </script>¦</head>`, 'hidden, shown, hidden, over'],
  [`${D}<head><script/></head></script>¦${CLOSE}`, 'a script does not close itself'],
  [`${D}<head><style>a{content:"</head>"}</style>¦${CLOSE}`, 'in a style'],
  [`${D}<head><style><!-- </style>¦${CLOSE}`, 'no comments in a style'],
  [`${D}<head><title></head></TITLE>¦${CLOSE}`, 'in a title'],
  [`${D}<head><title><!-- </title>¦${CLOSE}`, 'no comments in a title'],
  [`${D}<head><noscript><link></head></noscript>¦${CLOSE}`, 'in a noscript'],
  [`${D}<head><noscript><iframe></iframe></noscript>¦${CLOSE}`, 'what would end a head does not in a noscript'],
  [`${D}<head><template></head><p>a</p><template></template>x</template>¦${CLOSE}`, 'in templates'],
  [`${D}<head><template><textarea></template></textarea></template>¦${CLOSE}`, 'text in a template'],
  [`${D}<head><template>a < b <> </template>¦${CLOSE}`, 'a bare < in a template'],
  [`${D}<head><template><svg><style/></svg></template>${CLOSE}`, 'SVG in a template is not supported'],
  [`${D}<html>¦<body><p>a`, 'no head'],
  [`${D}¦<body><p>a`, 'neither html nor head'],
  [`${D}<title>x</title>\n¦<p>hello`, 'an element ends the head'],
  [`${D}<title>x</title>\n ¦hello`, 'text ends the head'],
  [`${D}<title>x</title>¦</body>`, 'the end of a body does as well'],
  [`${D}<title>x</title>¦</html>`, 'and that of the document'],
  [`${D}<title>x</title>¦</br>`, 'and a </br>, which stands for <br>'],
  [`${D}<title>x</title>¦< p>`, 'a bare < is text'],
  [`${D}<title>x</title>¦<custom-element></custom-element>`, 'an unknown element'],
  [`${D}<html>¦<frameset></frameset></html>`, 'frames'],
  [`${D}<script src="app.js"></script>\n¦`, 'a document that is only a head'],
  [`${D}<head><head><link>¦${CLOSE}`, 'a second head is ignored'],
  [`${D}<head><title>${'x'.repeat(3_000)}</title>¦${CLOSE}`, 'a long head'],
  ['\xef\xbb\xbf<!doctype html><head>¦</head>', 'a byte order mark'],
  ['<!-- a --> <!-- b -->\n<!doctype html><head>¦</head>', 'comments before the doctype'],
  [
    `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd"><html xmlns="http://www.w3.org/1999/xhtml"><head>¦${CLOSE}`,
    'XHTML sent as HTML',
  ],
  ['<?xml version="1.0"?><!doctype html><head>¦</head>', 'with an XML declaration'],
  [`${D}<html><head><meta name=x><base href="/sub/">¦${CLOSE}`, 'a base on the same host'],
  [`${D}<base href="https://SITE.example/a/">¦${CLOSE}`, 'the same, absolute'],
  [`${D}<base target=_blank>¦${CLOSE}`, 'a base without an address'],
  [`${D}<base href="https://cdn.example/">${CLOSE}`, 'a base elsewhere: our script would not be there'],
  [`${D}<base href="//cdn.example/">${CLOSE}`, 'a base elsewhere, without a scheme'],
  [`${D}<head>¦<svg-logo></svg-logo></head>`, 'a custom element in the head ends it'],
  [`${D}<head><title>caf\xe9 \xff\x80</title>¦</head>\xc3\xa9`, 'bytes that are not UTF-8'],
  [`${D}<head><title>\x83\x5c\x82</title>¦</head>`, 'Shift_JIS'],

  ['<p>a fragment</p>', 'no document'],
  ['<div><head></head></div>', 'an element first'],
  ['<title>x</title><p>hello', 'neither doctype nor html nor head'],
  ['<body><p>hello</body>', 'a body alone'],
  ['hello <!doctype html><html><head></head>', 'text first'],
  ['{"a":"<html><head></head>"}', 'JSON by another name'],
  ['', 'nothing'],
  [' \n ', 'space'],
  ['<', 'the beginning of a tag'],
  ['<!', 'the beginning of a declaration'],
  ['<!doctyp', 'the beginning of a doctype'],
  [`${D}<head><title>x`, 'a title without an end'],
  [`${D}<head><script>x`, 'a script without an end'],
  [`${D}<head><!-- x`, 'a comment without an end'],
  [`${D}<head></hea`, 'an end tag without an end'],
  [`${D}<head><meta content="`, 'a quote without an end'],
  [`${D}<head><template>`, 'a template without an end'],
  [`${D}<html amp><head><title>x</title>${CLOSE}`, 'AMP'],
  [`${D}<html \xe2\x9a\xa1 lang=en><head>${CLOSE}`, 'AMP, with its sign'],
  [`${D}<html \xe2\x9a\xa14ads><head>${CLOSE}`, 'an AMP advertisement'],
  [`${D}<html data-amp=x class="amp"><head>¦${CLOSE}`, 'only the word amp'],
  [`${D}<head>${TAG}${CLOSE}`, 'the script is there already'],
  [`${D}<head><script src='/_readership/script.js' data-site=2></script>${CLOSE}`, 'by its short name'],
  [
    `${D}<head><script async src="https://site.example/_readership/script-ffffffff.js"></script>${CLOSE}`,
    'by another hash',
  ],
  [`${D}<head><!-- ${TAG} --><script src="/other/script.js"></script>¦${CLOSE}`, 'another script'],
  ['\xff\xfe<\0h\0t\0m\0l\0>\0<\0h\0e\0a\0d\0>\0', 'UTF-16 with its mark'],
  ['<\0h\0t\0m\0l\0>\0<\0h\0e\0a\0d\0>\0', 'UTF-16 without'],
  ['\0<\0h\0t\0m\0l\0>\0<\0h\0e\0a\0d\0>', 'the other way round'],
  [`${D}<head><style>${'x'.repeat(600_000)}</style>${CLOSE}`, 'a head without end'],
  [`${D}<head><link title="${'x'.repeat(20_000)}">${CLOSE}`, 'a tag without end'],

  [
    `${D}<head><meta http-equiv="Content-Security-Policy" content="default-src 'self'">¦${CLOSE}`,
    'a policy of the page that allows the script',
  ],
  [
    `${D}<head><meta content="script-src &#39;none&#x27;" http-equiv=content-security-policy>${CLOSE}`,
    'one that does not, with references',
  ],
  [
    `${D}<head><template><meta http-equiv=Content-Security-Policy content="default-src 'none'"></template>¦${CLOSE}`,
    'a policy in a template has no effect',
  ],
  [
    `${D}<head><!-- <meta http-equiv=Content-Security-Policy content="default-src 'none'"> -->¦${CLOSE}`,
    'nor has one in a comment',
  ],
  [
    `${D}<head><meta http-equiv=Content-Security-Policy content="sandbox; img-src *">¦${CLOSE}`,
    'no sandbox from a page',
  ],
]

const policed = (policy: string): Partial<TagTarget> => ({ policies: [policy] })

const POLICED: PageRow[] = [
  [`${D}<head>¦</head>`, 'a policy of the head that allows the script', policed("default-src 'self'")],
  [
    `${D}<head><meta http-equiv=Content-Security-Policy content="script-src 'none'"></head>`,
    'the policies of head and page must both allow it',
    policed("default-src 'self'"),
  ],
]

/** The pages as the origin sends them and as the client must get them. */
export const PAGES = [...HTML, ...POLICED].map(([page, why, differs]) => {
  const target: TagTarget = { ...TARGET, ...differs }
  const bytes = (text: string) => Buffer.from(text, 'latin1')
  const [before = '', after] = page.split('\xa6')
  return {
    why,
    target,
    input: bytes(page.replace('\xa6', '')),
    output: bytes(after === undefined ? before : `${before}${TAG}${after}`),
    changed: after !== undefined,
  }
})
