import { defineConfig } from 'prisma/config';

// Prisma is the typed client alone: migrations are plain SQL, so there is no database URL here.
export default defineConfig({ schema: 'prisma/schema.prisma' });
