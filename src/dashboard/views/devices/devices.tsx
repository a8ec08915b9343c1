import { Empty } from '../../parts/states.js'

export default () => <Empty />
