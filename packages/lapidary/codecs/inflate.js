export { Unzlib } from 'fflate';
