import t from 'tap'
import { openStore } from '../fixtures/open.js'
import { judgeStream } from './stream.js'

t.test('a stream of small sites', async (t) => judgeStream(t, await openStore(t)))
