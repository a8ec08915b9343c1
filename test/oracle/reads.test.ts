import t from 'tap'
import { openStore } from '../fixtures/open.js'
import { judgeGenerated } from './generated.js'
import { judgeStream } from './stream.js'

t.test('a generated site', async (t) => judgeGenerated(t, await openStore(t)))
t.test('a stream of small sites', async (t) => judgeStream(t, await openStore(t)))
